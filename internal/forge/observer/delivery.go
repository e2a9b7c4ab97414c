package observer

import (
	"context"

	"github.com/agentry-dev/agentry/internal/delivery"
	"github.com/agentry-dev/agentry/internal/forge"
	"github.com/agentry-dev/agentry/internal/outbox"
)

// deliveryContext returns the context of the commit status that says where a pipeline's commit is applied.
func deliveryContext(pipeline string) string { return statusContext(pipeline) + "/applied" }

// Delivered queues the status of the input commits whose output has come further into the clusters.
func (o *Observer) Delivered(c delivery.Change) {
	d, name := c.Definition, c.Definition.Metadata.Name
	status := forge.Status{Context: deliveryContext(name), State: stateOf(c.Status), Description: c.Status.Summary()}
	for i, src := range d.Spec.Sources {
		if src.Forge == nil || i >= len(c.Inputs) || c.Inputs[i] == "" {
			continue
		}
		commit := c.Inputs[i]
		o.box.Put(outbox.Job{
			Recipient: "status " + src.URL, Key: name + " applied " + commit, What: "commit status", Pipeline: name,
			Do: func(ctx context.Context) error {
				if !o.options.MayPublish() {
					return nil
				}
				err := o.setStatus(ctx, d, i, commit, c.Status.Commit, status)
				if forge.IsPermanent(err) {
					return outbox.Permanent(err)
				}
				return err
			},
		})
	}
}

func stateOf(s delivery.Status) forge.State {
	switch {
	case s.Failed > 0:
		return forge.Failure
	case s.Applied < s.Clusters:
		return forge.Pending
	}
	return forge.Success
}
