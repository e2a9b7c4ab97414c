package workload

import (
	"fmt"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes"
)

// fileBytes is the size above which a file of a folder is split. It is well below the limit of a Secret, so that a
// component can grow.
const fileBytes = maxSecretBytes / 4 * 3

// folder adds the Secrets of a configuration that is too large for one Secret, with one file each. Their names end in
// the part of the configuration.
func (out *output) folder(name, set string, c *model.Config, printed *runtimes.Printed) config {
	files, err := printed.Split(set, fileBytes)
	if err != nil {
		out.found(diag.List{{Severity: diag.Error, Code: diag.ObjectTooLarge,
			Message: "the configuration needs several Secrets: " + err.Error(),
			Hint:    "write the value without a variable, or let a second GrafanaAgent select some of the instances"}})
		return config{of: c, secret: name}
	}
	made := config{of: c, secret: name}
	all := func() parts {
		var spans []runtimes.Span
		for _, f := range files {
			spans = append(spans, f.Text.Spans...)
		}
		return largest(spans)
	}
	for _, f := range files {
		secret := name
		if f.Part != "" {
			secret += "-" + f.Part
			made.others = append(made.others, secret)
		}
		out.add(out.textSecret(secret, c, f.Key, f.Text), tooLarge(secret, &f, all))
	}
	return made
}

// tooLarge returns an error for a file that fits into no Secret and cannot be split further.
func tooLarge(secret string, f *runtimes.File, largest func() parts) diag.List {
	size := len(f.Text.Bytes) + len(f.Key)
	if size <= maxSecretBytes {
		return nil
	}
	of := largest()
	message := fmt.Sprintf(
		"component %s alone has %d bytes, more than the %d that a Secret can hold (%s); the largest parts are %s",
		f.Only, size, maxSecretBytes, secret, of)
	return diag.List{{Severity: diag.Error, Code: diag.ObjectTooLarge, Message: message, Related: of.objects(),
		Hint: "shorten the lists of targets and rules of the object that the component comes from, or split the " +
			"object into several"}}
}
