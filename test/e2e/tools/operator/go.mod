// Where the Grafana Agent Operator's custom resource definitions come from, as it ships them.
module github.com/agentry-dev/agentry/test/e2e/tools/operator

go 1.26.0

require github.com/grafana/agent v0.44.8
