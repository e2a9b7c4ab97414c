package stages

import (
	"maps"
	"strconv"
	"strings"
	"sync"
	"text/template/parse"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// builtins are the functions of every Go template.
const builtins = "and call eq ge gt html index js le len lt ne not or print printf println slice urlquery"

// sprigFunctions are those that the agent adds: of github.com/Masterminds/sprig/v3 v3.2.3, and its own.
const sprigFunctions = `
Hash Replace Sha2Hash ToLower ToUpper Trim TrimLeft TrimPrefix TrimRight TrimSpace TrimSuffix abbrev
abbrevboth add add1 add1f addf adler32sum ago all any append atoi b32dec b32enc b64dec b64enc base bcrypt
biggest buildCustomCert camelcase cat ceil chunk clean coalesce compact concat contains date dateInZone
dateModify date_in_zone date_modify decryptAES deepCopy deepEqual default derivePassword dict dig dir div divf
duration durationRound empty encryptAES env expandenv ext fail first float64 floor fromJson genCA genCAWithKey
genPrivateKey genSelfSignedCert genSelfSignedCertWithKey genSignedCert genSignedCertWithKey get getHostByName
has hasKey hasPrefix hasSuffix hello htmlDate htmlDateInZone htpasswd indent initial initials int int64 isAbs
join kebabcase keys kindIs kindOf last list lower max maxf merge mergeOverwrite min minf mod mul mulf
mustAppend mustChunk mustCompact mustDateModify mustDeepCopy mustFirst mustFromJson mustHas mustInitial
mustLast mustMerge mustMergeOverwrite mustPrepend mustPush mustRegexFind mustRegexFindAll mustRegexMatch
mustRegexReplaceAll mustRegexReplaceAllLiteral mustRegexSplit mustRest mustReverse mustSlice mustToDate
mustToJson mustToPrettyJson mustToRawJson mustUniq mustWithout must_date_modify nindent nospace now omit
osBase osClean osDir osExt osIsAbs pick pluck plural prepend push quote randAlpha randAlphaNum randAscii
randBytes randInt randNumeric regexFind regexFindAll regexMatch regexQuoteMeta regexReplaceAll
regexReplaceAllLiteral regexSplit repeat replace rest reverse round semver semverCompare seq set sha1sum
sha256sum shuffle slice snakecase sortAlpha split splitList splitn squote sub subf substr swapcase ternary
title toDate toDecimal toJson toPrettyJson toRawJson toString toStrings trim trimAll trimPrefix trimSuffix
trimall trunc tuple typeIs typeIsLike typeOf uniq unixEpoch unset until untilStep untitle upper urlJoin
urlParse uuidv4 values without wrap wrapWith`

func functionNames() []string { return strings.Fields(builtins + sprigFunctions) }

// environment are the functions that read the agent's environment.
const environment = "env expandenv"

// functions returns all functions that a template may call, by name.
var functions = sync.OnceValue(func() map[string]any {
	all := map[string]any{}
	for _, name := range functionNames() {
		all[name] = true
	}
	return all
})

func template(p *problems, path string, s *model.TemplateStage) {
	p.required(path+".source", s.Source)
	if f := parseTemplate(p, path+".template", s.Template); f != nil {
		p.add(diag.Error, diag.InvalidStage, f.Path, f.Hint, "is not a Go template: %s", f.Message)
	}
}

// replacement checks the template of a replace stage. The agent parses it only when a line matches.
func replacement(p *problems, path, text string) {
	if f := parseTemplate(p, path, text); f != nil {
		p.add(diag.Error, diag.InvalidStage, f.Path, f.Hint, "would replace nothing, as it is not a Go template: %s",
			f.Message)
	}
}

// parseTemplate parses a template like the agent. The finding, if any, has no severity yet.
func parseTemplate(p *problems, path, text string) *diag.Diagnostic {
	if !strings.Contains(text, "{{") || p.tooLong(path, text) {
		return nil
	}
	err := readTemplate(text, functions())
	if err == nil {
		checkEnvironment(p, path, text)
		return nil
	}
	f := &diag.Diagnostic{Code: diag.InvalidStage, Path: path, Message: strings.TrimPrefix(err.Error(), "template: ")}
	if match := templateErrorPattern.FindStringSubmatch(err.Error()); match != nil {
		line, _ := strconv.Atoi(match[1])
		f.Path, f.Message = textPath(path, line, 1), strings.TrimPrefix(match[2], "template: ")
	}
	if match := undefinedPattern.FindStringSubmatch(err.Error()); match != nil {
		f.Hint = diag.DidYouMean(match[1], functionNames())
	}
	return f
}

// checkEnvironment reports a template that writes the agent's environment into the logs.
func checkEnvironment(p *problems, path, text string) {
	if !strings.Contains(text, "env") {
		return
	}
	without := maps.Clone(functions())
	for _, name := range strings.Fields(environment) {
		delete(without, name)
	}
	if readTemplate(text, without) != nil {
		p.add(diag.Warning, diag.EnvReference, path, "", "reads the environment of the agent, which may hold secrets")
	}
}

// templateName is the name of every template of the agent. No template may define it again.
const templateName = "pipeline_template"

var (
	templateErrorPattern = lazyregexp.New(`(?s)^template: ` + templateName + `:(\d+): (.*)$`)
	undefinedPattern     = lazyregexp.New(`function "(\w+)" not defined`)
)

func readTemplate(text string, functions map[string]any) error {
	_, err := parse.Parse(templateName, text, "", "", functions)
	return err
}
