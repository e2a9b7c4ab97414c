package command

// AppHelp is the template of the program's help, and commandHelp that of a command's help. They are the
// library's, with the example last and without capitals.
const (
	AppHelp = `{{.Name}} - {{.Usage}}

Usage:
  {{.HelpName}} COMMAND [options] [PATH...]

Commands:{{range .VisibleCommands}}
  {{.Name}}{{"\t"}}{{.Usage}}{{end}}

Options:
  --help, -h{{"\t"}}show help, also of a command
  --version, -v{{"\t"}}print the version

Exit codes: 0 done; 1 finished, with errors in the input; 2 wrong usage or configuration;
3 could not reach or write a repository; 130 interrupted.

Example:
  agentry tree .
`
	commandHelp = `{{.HelpName}} - {{.Usage}}

Usage:
  {{.HelpName}} [options]{{if .ArgsUsage}} {{.ArgsUsage}}{{end}}

Options:{{range .VisibleFlags}}
  {{.}}{{end}}

{{.Description}}
`
)
