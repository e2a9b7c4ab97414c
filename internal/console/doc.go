// Package console is the pages of `agentry serve` for people.
//
//	/                               all pipelines: ?q=WORDS&state=STATE&sort=COLUMN&group=repository&page=N
//	/pipelines/NAME                 one pipeline: its state, what was found, what is held
//	/pipelines/NAME/hierarchy       from the GrafanaAgents down
//	/pipelines/NAME/explain         ?object=KIND/namespace/name: why it is rendered as it is
//	/pipelines/NAME/commits         the last commits of the output branch
//	/pipelines/NAME/commits/COMMIT  what one of them changes
//	/pipelines/NAME/output/PATH     its units, the files of a unit, or the lines of a file: ?line=N#LN
//	POST /pipelines/NAME/pass       asks for a pass
//	/search                         objects, jobs, writers, files and commits of all: ?q=WORDS&in=GROUP&pipeline=NAME
//	/codes/CODE                     what the code of a finding means, and what to do
//	/remotes                        the repositories, and when they were asked last
//
// Pages are made here, and whole without scripts: what a page shows is in its address, and forms send queries. The one
// script asks for the page again every few seconds and puts in place what has changed. Nothing is loaded from
// elsewhere, and the Content-Security-Policy forbids all but what this package serves. Everything that a repository or
// a pipeline says is text: html/template writes it.
//
// The caller decides who may see pages, and who may act.
package console
