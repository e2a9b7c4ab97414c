package alloy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/grafana/river/ast"
	"github.com/grafana/river/parser"
	"github.com/grafana/river/token"
)

// File is a file with its components by their id: the name, and the label after a dot.
type File struct {
	Components map[string]*Block
	// IDs are in the order of the file.
	IDs []string

	parsed *ast.File
}

// Block is a block with the values of its attributes.
type Block struct {
	Name, Label string
	Attrs       map[string]any
	Blocks      []*Block
}

// Ref is a reference to an export of a component.
type Ref string

// Parse reads a file with the parser of the agent's Flow mode, which knows the whole syntax of Alloy's. Environment
// variables have the given values.
func Parse(text []byte, env map[string]string) (*File, error) {
	parsed, err := parser.ParseFile("config.alloy", text)
	if err != nil {
		return nil, err
	}
	f := &File{Components: map[string]*Block{}, parsed: parsed}
	for _, s := range parsed.Body {
		block, ok := s.(*ast.BlockStmt)
		if !ok {
			return nil, fmt.Errorf("a statement that is no block: %T", s)
		}
		id := idOf(block)
		if f.Components[id] != nil {
			return nil, fmt.Errorf("two blocks are called %s", id)
		}
		if f.Components[id], err = read(block, env); err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
		f.IDs = append(f.IDs, id)
	}
	return f, nil
}

func idOf(b *ast.BlockStmt) string {
	id := strings.Join(b.Name, ".")
	if b.Label != "" {
		id += "." + b.Label
	}
	return id
}

func read(s *ast.BlockStmt, env map[string]string) (*Block, error) {
	b := &Block{Name: strings.Join(s.Name, "."), Label: s.Label, Attrs: map[string]any{}}
	for _, stmt := range s.Body {
		switch stmt := stmt.(type) {
		case *ast.AttributeStmt:
			v, err := eval(stmt.Value, env)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", stmt.Name.Name, err)
			}
			b.Attrs[stmt.Name.Name] = v
		case *ast.BlockStmt:
			inner, err := read(stmt, env)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", strings.Join(stmt.Name, "."), err)
			}
			b.Blocks = append(b.Blocks, inner)
		}
	}
	return b, nil
}

// All returns the inner blocks of a name.
func (b *Block) All(name string) (out []*Block) {
	for _, inner := range b.Blocks {
		if inner.Name == name {
			out = append(out, inner)
		}
	}
	return out
}

// eval returns the value of an expression: a string, a float64, a bool, a list, a map or a [Ref].
func eval(e ast.Expr, env map[string]string) (any, error) {
	switch e := e.(type) {
	case *ast.LiteralExpr:
		return literal(e)
	case *ast.ParenExpr:
		return eval(e.Inner, env)
	case *ast.ArrayExpr:
		out := []any{}
		for _, item := range e.Elements {
			v, err := eval(item, env)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case *ast.ObjectExpr:
		out := map[string]any{}
		for _, field := range e.Fields {
			v, err := eval(field.Value, env)
			if err != nil {
				return nil, err
			}
			if _, twice := out[field.Name.Name]; twice {
				return nil, fmt.Errorf("the key %s appears twice", field.Name.Name)
			}
			out[field.Name.Name] = v
		}
		return out, nil
	case *ast.BinaryExpr:
		return sum(e, env)
	case *ast.UnaryExpr:
		v, err := eval(e.Value, env)
		if number, is := v.(float64); is && e.Kind == token.SUB {
			return -number, nil
		}
		return nil, errors.Join(err, fmt.Errorf("%s %v", e.Kind, v))
	case *ast.CallExpr:
		return call(e, env)
	}
	path, ok := pathOf(e)
	if !ok {
		return nil, fmt.Errorf("an expression of type %T", e)
	}
	return Ref(path), nil
}

func literal(e *ast.LiteralExpr) (any, error) {
	switch e.Kind {
	case token.STRING:
		return strconv.Unquote(e.Value)
	case token.NUMBER, token.FLOAT:
		return strconv.ParseFloat(e.Value, 64)
	case token.BOOL:
		return e.Value == "true", nil
	}
	return nil, fmt.Errorf("a literal %s", e.Value)
}

func sum(e *ast.BinaryExpr, env map[string]string) (any, error) {
	left, err := eval(e.Left, env)
	if err != nil {
		return nil, err
	}
	right, err := eval(e.Right, env)
	if err != nil {
		return nil, err
	}
	a, isText := left.(string)
	b, isTextToo := right.(string)
	if e.Kind != token.ADD || !isText || !isTextToo {
		return nil, fmt.Errorf("%v %s %v", left, e.Kind, right)
	}
	return a + b, nil
}

// call calls a function. A file that a component reads stays a reference.
func call(e *ast.CallExpr, env map[string]string) (any, error) {
	name, _ := pathOf(e.Value)
	var args []any
	for _, a := range e.Args {
		v, err := eval(a, env)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	switch name {
	case "sys.env":
		return env[args[0].(string)], nil
	case "coalesce":
		for _, a := range args {
			if a != "" {
				return a, nil
			}
		}
		return args[len(args)-1], nil
	case "array.concat":
		return args, nil
	case "convert.nonsensitive", "string.trim_space":
		return args[0], nil
	}
	return nil, fmt.Errorf("the function %s", name)
}

// pathOf returns the names of a reference, joined by dots.
func pathOf(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.IdentifierExpr:
		return e.Ident.Name, true
	case *ast.AccessExpr:
		path, ok := pathOf(e.Value)
		return path + "." + e.Name.Name, ok
	}
	return "", false
}
