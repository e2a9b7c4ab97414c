package worlds

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// Answer is what test/renderworlds says of a world under one secrets policy.
type Answer struct {
	Findings       []Finding
	Files          map[string]string
	Panic, Differs string
}

// Finding is a diagnostic of agentry's.
type Finding struct{ Severity, Code, Object, Message, Position string }

// Renderer is a running test/renderworlds.
type Renderer struct {
	in  *json.Encoder
	out *json.Decoder
}

// Start builds test/renderworlds of the repository in the folder root and starts it. It ends
// with this process.
func Start(root, binary string) (*Renderer, error) {
	build := exec.Command("go", "build", "-o", binary, "./test/renderworlds")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	cmd := exec.Command(binary)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &Renderer{json.NewEncoder(in), json.NewDecoder(out)}, cmd.Start()
}

// Render renders a YAML stream, and answers by secrets policy.
func (r *Renderer) Render(world string) (answers map[string]Answer, err error) {
	if err := r.in.Encode(world); err != nil {
		return nil, err
	}
	return answers, r.out.Decode(&answers)
}
