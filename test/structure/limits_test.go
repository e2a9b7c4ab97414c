package structure

import (
	"errors"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestLimitsAreThoseOfTheCode compares each number of docs/limits.md with the constant that the comment after it names.
func TestLimitsAreThoseOfTheCode(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "limits.md"))
	if err != nil {
		t.Fatal(err)
	}
	units := map[string]int64{"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "s": int64(time.Second),
		"min": int64(time.Minute), "h": int64(time.Hour)}
	marked := regexp.MustCompile(`([\d,]+)(?: (KiB|MiB|GiB|s|min|h)\b)?[^<|\d]*<!-- (\S+)\.(\w+) -->`)
	packages, count := map[string]map[string]int64{}, 0
	for _, m := range marked.FindAllStringSubmatch(string(page), -1) {
		count++
		if packages[m[3]] == nil {
			packages[m[3]] = constants(t, m[3])
		}
		number, err := strconv.ParseInt(strings.ReplaceAll(m[1], ",", ""), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		got, found := packages[m[3]][m[4]]
		if want := number * units[m[2]]; !found || got != want {
			t.Errorf("%s.%s is %d, not %s %s", m[3], m[4], got, m[1], m[2])
		}
	}
	if all := strings.Count(string(page), "<!-- "); all != count || count < 80 {
		t.Errorf("%d of %d comments have a number before them", count, all)
	}
}

// constants returns the integers and durations among the constants of a package, also of its functions.
func constants(t *testing.T, folder string) map[string]int64 {
	t.Helper()
	files := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(folder), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var parsed []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	info := types.Info{Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: onlyTime{}, Error: func(error) {}}
	checked, _ := config.Check(folder, files, parsed, &info) // what is imported is missing
	out := map[string]int64{}
	for _, object := range info.Defs {
		c, ok := object.(*types.Const)
		if !ok || c.Parent() != checked.Scope() && checked.Scope().Lookup(c.Name()) != nil {
			continue
		}
		if n, exact := constant.Int64Val(constant.ToInt(c.Val())); exact {
			out[c.Name()] = n
		}
	}
	return out
}

// onlyTime imports the durations of package time, on which constants depend, and nothing else.
type onlyTime struct{}

// Import implements [types.Importer].
func (onlyTime) Import(path string) (*types.Package, error) {
	if path != "time" {
		return nil, errors.New("not needed")
	}
	p := types.NewPackage(path, path)
	for name, d := range map[string]time.Duration{"Millisecond": time.Millisecond, "Second": time.Second,
		"Minute": time.Minute, "Hour": time.Hour} {
		p.Scope().Insert(types.NewConst(token.NoPos, p, name, types.Typ[types.Int64], constant.MakeInt64(int64(d))))
	}
	p.MarkComplete()
	return p, nil
}
