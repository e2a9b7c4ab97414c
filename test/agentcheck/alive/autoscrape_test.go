package alive

import "testing"

// TestIntegrationsFindTheirInstance starts agents whose integrations scrape themselves. The
// agent sets these up while its metrics instances start, and ends if theirs comes too late:
// with the instance last instead of first, in 20 of 20 starts.
func TestIntegrationsFindTheirInstance(t *testing.T) {
	t.Parallel()
	configs, _ := newManifests(t, "autoscrape", "127.0.0.1:1").render(t)
	for range 3 {
		a := startAgent(t, "the agent that scrapes itself", configs[integrations])
		runs(t, a, "agent", "redis")
		host := "spec-nodeName:" + port(a.address)
		labels := func(job, instance string) map[string]string {
			return map[string]string{"agent_hostname": host, "instance": instance, "job": "integrations/" + job}
		}
		// The address is one inside the process.
		want := []target{
			{"http://agent.internal:12345/integrations/agent/metrics", "up", labels("agent", host)},
			{"http://agent.internal:12345/integrations/redis/metrics", "up", labels("redis_exporter", "127.0.0.1:1")},
		}
		eventually(t, "scraping itself", func() error {
			got, err := targets(a.address, "integrations/targets")
			if err != nil {
				return err
			}
			return differ(want, got)
		})
		a.kill()
	}
}
