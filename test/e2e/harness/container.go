package harness

import "os/exec"

// Container is a program with a file system of its own, as far as pods need one: it has folders
// and files of this machine at other places, and nothing else below /tmp, /var/lib, /var/log and
// /var/run. Its network is the suite's.
type Container struct {
	Tool   Tool
	Args   []string
	Env    []string
	Mounts map[string]string // what is at a place
}

// Contain runs a container until the suite ends or somebody kills it. Its log is kept if that fails.
func (c *Cluster) Contain(name string, of Container) (*Process, error) {
	cmd := exec.Command(of.Tool.Path(), of.Args...)
	cmd.Env, cmd.Dir = of.Env, "/"
	return begin(c.dir, name, cmd, of.start)
}
