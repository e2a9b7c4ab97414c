package kind

import "testing"

func TestKindsAreFoundByTheirNames(t *testing.T) {
	for _, name := range Names() {
		if k, ok := Find(name); !ok || k.Name != name || k.Signature == nil || k.Event == nil {
			t.Errorf("%s: got %+v, %v", name, k, ok)
		}
	}
	if _, ok := Find("other"); ok {
		t.Error("a kind that is none is found")
	}
}
