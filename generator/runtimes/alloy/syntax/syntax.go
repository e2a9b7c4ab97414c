// Package syntax prints Alloy's configuration language, as `alloy fmt` formats it.
//
// A file is a list of blocks. A block has attributes, then blocks. The value of an attribute is an expression, which is
// kept as text: build it with [String], [Strings], [Object] and the other functions. Equal values give equal text.
package syntax

import (
	"slices"
	"strings"
)

// Block is a block with its attributes and inner blocks.
type Block struct {
	// Name is the name with its dots, and Label the text in quotes after it, if it has one.
	Name, Label string
	Attrs       []Attr
	Blocks      []*Block

	text []byte // as it is written one level deep, if that is known
}

// Written returns the block, which must not be changed any more. It is written faster inside of others.
func Written(b *Block) *Block {
	b.text = appendBlock(make([]byte, 0, 256), b, 1)
	return b
}

// ID is the name with the label: so a reference to the component begins.
func (b *Block) ID() string {
	if b.Label == "" {
		return b.Name
	}
	return b.Name + "." + b.Label
}

// MapExprs applies f to the values of all attributes of a block and of its inner blocks. It returns the same block if f
// changes none. It fails with the first error of f.
func MapExprs(b *Block, f func(Expr) (Expr, error)) (*Block, error) {
	out := *b
	out.text = nil
	isChanged := false
	for i, a := range b.Attrs {
		value, err := f(a.Value)
		if err != nil {
			return nil, err
		}
		if value != a.Value {
			if !isChanged {
				out.Attrs = slices.Clone(b.Attrs)
			}
			out.Attrs[i].Value, isChanged = value, true
		}
	}
	isNew := false
	for i, inner := range b.Blocks {
		value, err := MapExprs(inner, f)
		if err != nil {
			return nil, err
		}
		if value != inner {
			if !isNew {
				out.Blocks = slices.Clone(b.Blocks)
			}
			out.Blocks[i], isNew = value, true
		}
	}
	if isChanged || isNew {
		return &out, nil
	}
	return b, nil
}

// Attr is an attribute.
type Attr struct {
	Name  string
	Value Expr
}

// Set appends an attribute.
func (b *Block) Set(name string, value Expr) { b.Attrs = append(b.Attrs, Attr{name, value}) }

// Add appends an inner block.
func (b *Block) Add(inner Block) { b.Blocks = append(b.Blocks, &inner) }

// Append appends a block to a file. Between two blocks of a file is an empty line.
func Append(buf []byte, b *Block) []byte { return appendBlock(buf, b, 0) }

// Text returns the text inside a block.
func Text(b *Block) string { return string(appendBody(nil, b, 0)) }

func appendBlocks(buf []byte, blocks []*Block, level int) []byte {
	for i := range blocks {
		if i > 0 {
			buf = append(buf, '\n')
		}
		buf = appendBlock(buf, blocks[i], level)
	}
	return buf
}

func appendBlock(buf []byte, b *Block, level int) []byte {
	if b.text != nil && level == 1 {
		return append(buf, b.text...)
	}
	buf = append(indent(buf, level), b.Name...)
	if b.Label != "" {
		buf = appendQuoted(append(buf, ' '), b.Label)
	}
	if len(b.Attrs)+len(b.Blocks) == 0 {
		return append(buf, " { }\n"...)
	}
	buf = appendBody(append(buf, " {\n"...), b, level+1)
	return append(indent(buf, level), "}\n"...)
}

// appendBody appends what is inside a block, level tabs deep.
func appendBody(buf []byte, b *Block, level int) []byte {
	for rest := b.Attrs; len(rest) > 0; {
		run, width := aligned(rest)
		for _, a := range run {
			buf = append(indent(buf, level), a.Name...)
			buf = append(pad(buf, width-len(a.Name)), " = "...)
			buf = append(appendExpr(buf, a.Value, level), '\n')
		}
		rest = rest[len(run):]
	}
	if len(b.Attrs) > 0 && len(b.Blocks) > 0 {
		buf = append(buf, '\n')
	}
	return appendBlocks(buf, b.Blocks, level)
}

// aligned returns the first attributes whose equal signs are in one column: a value of several lines ends them.
func aligned(attrs []Attr) (run []Attr, width int) {
	for i := range attrs {
		width = max(width, len(attrs[i].Name))
		if strings.IndexByte(string(attrs[i].Value), '\n') >= 0 {
			return attrs[:i+1], width
		}
	}
	return attrs, width
}

// appendExpr appends an expression. Its lines after the first are indented like its attribute, except the lines of a
// text that is written as it is.
func appendExpr(buf []byte, e Expr, level int) []byte {
	text := string(e)
	if text != "" && text[0] == '`' {
		return append(buf, text...)
	}
	for {
		line, rest, more := strings.Cut(text, "\n")
		buf = append(buf, line...)
		if !more {
			return buf
		}
		buf = indent(append(buf, '\n'), level)
		text = rest
	}
}

const tabs = "\t\t\t\t\t\t\t\t"

func indent(buf []byte, level int) []byte { return append(buf, tabs[:level]...) }

const spaces = "                                                                "

func pad(buf []byte, n int) []byte {
	for ; n > len(spaces); n -= len(spaces) {
		buf = append(buf, spaces...)
	}
	return append(buf, spaces[:n]...)
}
