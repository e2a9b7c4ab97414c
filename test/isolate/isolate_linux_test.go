package isolate

import (
	"net"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	os.Exit(Main(Namespaces{Network: true, Mounts: true, Processes: true}, m.Run))
}

func TestEveryAddressOfThePodsIsThisHost(t *testing.T) {
	for _, address := range []string{"10.0.0.1:0", "10.200.3.4:0", "127.0.0.1:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Error(err)
			continue
		}
		_ = l.Close()
	}
}

func TestNamespacesAreEmpty(t *testing.T) {
	if os.Getpid() != 1 {
		t.Errorf("process %d of its namespace", os.Getpid())
	}
	links, err := net.Interfaces()
	if err != nil || len(links) != 1 {
		t.Errorf("%d network devices, %v", len(links), err)
	}
}
