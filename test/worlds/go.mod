// What the tests of test/agentcheck and test/e2e begin with. Apart, for neither may get the
// libraries of the other or of agentry.
module github.com/agentry-dev/agentry/test/worlds

go 1.26.0

require (
	golang.org/x/tools v0.38.0
	gopkg.in/yaml.v3 v3.0.1
)
