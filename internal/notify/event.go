package notify

import (
	"fmt"
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

const (
	// MaxMessageBytes limits a message: Flux refuses more than as many characters.
	MaxMessageBytes = 39000
	// maxListed limits the units or objects that a message names.
	maxListed = 50
	// maxLineBytes limits each of its lines.
	maxLineBytes = 500
)

// message is an event without an identity.
type message struct {
	pipeline   string
	severity   diag.Severity // info or error, which Flux calls the same
	reason     string
	text       string
	metadata   map[string]string
	onlyStatus bool // nothing has changed, except that another commit is fine
	at         time.Time
}

// event adds the identity of an object of Flux, or of the pipeline.
func (m message) event(object *pipeline.NotifyObject, instance string) eventv1.Event {
	e := eventv1.Event{
		InvolvedObject: corev1.ObjectReference{APIVersion: pipeline.APIVersion, Kind: pipeline.Kind, Name: m.pipeline},
		Severity:       string(m.severity),
		Timestamp:      metav1.NewTime(m.at.UTC().Truncate(time.Second)),
		Message:        m.text,
		Reason:         m.reason,
		Metadata:       map[string]string{},

		ReportingController: component,
		ReportingInstance:   instance,
	}
	maps.Copy(e.Metadata, m.metadata)
	if object == nil {
		return e
	}
	group := fluxGroup(object.Kind)
	e.InvolvedObject = corev1.ObjectReference{APIVersion: group + "/v1", Kind: object.Kind, Name: object.Name,
		Namespace: object.Namespace}
	e.Message = cutMessage(m.pipeline + ": " + m.text)
	for key, value := range m.metadata {
		e.Metadata[group+"/"+key] = value
	}
	if m.onlyStatus {
		e.Metadata[group+"/"+eventv1.MetaCommitStatusKey] = eventv1.MetaCommitStatusUpdateValue
	}
	return e
}

// fluxGroup returns the API group of a kind of Flux.
func fluxGroup(kind string) string {
	if kind == "Kustomization" {
		return "kustomize.toolkit.fluxcd.io"
	}
	return "source.toolkit.fluxcd.io"
}

// list writes lines under a heading, and the number of those that are left out.
func list(b *strings.Builder, heading string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:", heading)
	for i, line := range lines {
		if i == maxListed {
			fmt.Fprintf(b, "\n… and %d more", len(lines)-i)
			return
		}
		fmt.Fprintf(b, "\n- %s", cut(strings.Join(strings.Fields(line), " "), maxLineBytes))
	}
}

// cutMessage cuts a message that is too long for Flux.
func cutMessage(text string) string { return cut(text, MaxMessageBytes) }

func cut(text string, limit int) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) <= limit {
		return text
	}
	const more = "…"
	end := limit - len(more)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}

// revision returns a commit in Flux's notation.
func revision(branch, commit string) string {
	if commit == "" {
		return ""
	}
	if branch == "" {
		return "sha1:" + commit
	}
	return branch + "@sha1:" + commit
}
