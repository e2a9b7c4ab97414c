package repo

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

// errReport means that the remote has reported a failure in the proper form.
var errReport = errors.New("the remote did not move all refs")

// send asks the remote to move the refs. The expected values go along, so the
// remote compares and swaps under its own lock.
func (p *push) send(svc *session, todo []Update) error {
	adv := svc.adv
	req := packp.NewReferenceUpdateRequestFromCapabilities(adv.Capabilities)
	if adv.Capabilities.Supports(capability.Sideband64k) {
		_ = req.Capabilities.Set(capability.Sideband64k) // takes no value
	}
	if len(todo) > 1 && adv.Capabilities.Supports(capability.Atomic) {
		_ = req.Capabilities.Set(capability.Atomic) // takes no value
	}
	for _, u := range todo {
		req.Commands = append(req.Commands, &packp.Command{Name: plumbing.ReferenceName(u.Ref), Old: u.Old, New: u.New})
	}
	req.Packfile = io.NopCloser(bytes.NewReader(p.data.Bytes))
	var buf bytes.Buffer
	if err := req.Encode(&buf); err != nil {
		return err
	}
	answer, err := svc.exchange(buf.Bytes())
	if err == nil {
		err = p.readReport(req, answer)
	}
	if err == nil || errors.Is(err, errReport) {
		return err
	}
	return svc.explain("push", err)
}

// readReport reads which refs the remote has moved, and keeps its words.
func (p *push) readReport(req *packp.ReferenceUpdateRequest, answer io.Reader) error {
	if req.Capabilities.Supports(capability.Sideband64k) {
		demuxer := sideband.NewDemuxer(sideband.Sideband64k, answer)
		demuxer.Progress = &p.message
		answer = demuxer
	}
	if !req.Capabilities.Supports(capability.ReportStatus) {
		_, err := io.Copy(io.Discard, answer)
		return errors.Join(err, errReport) // The refs' values will tell.
	}
	report := packp.NewReportStatus()
	if err := report.Decode(answer); err != nil {
		return err
	}
	// A hook may still be talking.
	if _, err := io.Copy(io.Discard, answer); err != nil {
		return err
	}
	if report.Error() == nil {
		return nil
	}
	p.reasons = map[string]string{}
	for _, s := range report.CommandStatuses {
		if s.Error() != nil {
			p.reasons[s.ReferenceName.String()] = remoteText(s.Status, p.client.secrets())
		}
	}
	if report.Error() != nil && len(p.reasons) == 0 {
		_, _ = io.WriteString(&p.message, "unpack: "+report.UnpackStatus) // A tail takes all.
	}
	return errReport
}
