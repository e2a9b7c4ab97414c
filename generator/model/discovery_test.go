package model

import "testing"

func TestLabelName(t *testing.T) {
	for name, want := range map[string]string{"a_B9": "a_B9", "a.b/c-d": "a_b_c_d", "é": "_", "日本": "__", "": ""} {
		if got := LabelName(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}
