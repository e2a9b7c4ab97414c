package transport

import (
	"bytes"
	"errors"
	"io"
	"net"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

// ErrNotMoved means that the remote reported that it did not move all refs: see [PushReport].
var ErrNotMoved = errors.New("the remote did not move all refs")

// Command moves a ref of the remote from Old to New. The zero hash as Old means that the ref must not exist.
type Command struct {
	Ref string // full name
	Old plumbing.Hash
	New plumbing.Hash
}

// PushReport is the remote's report about a push.
type PushReport struct {
	Message string            // such as the output of a hook
	Reasons map[string]string // why a ref was not moved, by its name
}

// Push sends a pack, which is in parts, and asks the remote to move refs: all or none of them, if the remote supports
// that. The remote compares their old values under its own lock. It may be called once in a session. The error is
// ErrNotMoved or of the same kinds as of [Client.Start]; after an error, list the refs to learn the outcome.
func (s *Session) Push(commands []Command, pack net.Buffers) (PushReport, error) {
	req := packp.NewReferenceUpdateRequestFromCapabilities(s.Advertised.Capabilities)
	if s.Advertised.Capabilities.Supports(capability.Sideband64k) {
		_ = req.Capabilities.Set(capability.Sideband64k) // cannot fail: it has no value
	}
	if len(commands) > 1 && s.Advertised.Capabilities.Supports(capability.Atomic) {
		_ = req.Capabilities.Set(capability.Atomic) // cannot fail: it has no value
	}
	for _, c := range commands {
		req.Commands = append(req.Commands, &packp.Command{Name: plumbing.ReferenceName(c.Ref), Old: c.Old, New: c.New})
	}
	var buf bytes.Buffer
	if err := req.Encode(&buf); err != nil {
		return PushReport{}, err
	}
	answer, err := s.exchange(append(net.Buffers{buf.Bytes()}, pack...))
	if err != nil {
		return PushReport{}, s.Explain("push", err)
	}
	var message tailBuffer
	reasons, err := readReport(req, answer, &message)
	if err != nil && !errors.Is(err, ErrNotMoved) {
		err = s.Explain("push", err)
	}
	secrets := s.client.secrets()
	for ref, reason := range reasons {
		reasons[ref] = remoteText(reason, secrets)
	}
	return PushReport{Message: remoteText(message.String(), secrets), Reasons: reasons}, err
}

// readReport reads the remote's report: the refs that it did not move, with the reasons.
func readReport(req *packp.ReferenceUpdateRequest, answer io.Reader, message *tailBuffer) (reasons map[string]string,
	err error) {
	if req.Capabilities.Supports(capability.Sideband64k) {
		demuxer := sideband.NewDemuxer(sideband.Sideband64k, answer)
		demuxer.Progress = message
		answer = demuxer
	}
	if !req.Capabilities.Supports(capability.ReportStatus) {
		_, err := io.Copy(io.Discard, answer)
		return nil, errors.Join(err, ErrNotMoved) // only the values of the refs show the outcome
	}
	report := packp.NewReportStatus()
	if err := report.Decode(answer); err != nil {
		return nil, err
	}
	// A hook may still be writing.
	if _, err := io.Copy(io.Discard, answer); err != nil {
		return nil, err
	}
	if report.Error() == nil {
		return nil, nil
	}
	reasons = map[string]string{}
	for _, s := range report.CommandStatuses {
		if s.Error() != nil {
			reasons[s.ReferenceName.String()] = s.Status
		}
	}
	if len(reasons) == 0 {
		_, _ = io.WriteString(message, "unpack: "+report.UnpackStatus) // cannot fail
	}
	return reasons, ErrNotMoved
}
