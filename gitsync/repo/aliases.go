package repo

import (
	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/store"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

// These names move to the packages on the right; they stay here until all callers use those.
type (
	Reader        = object.Reader
	Writer        = object.Writer
	Commit        = object.Commit
	CommitOptions = object.CommitOptions
	Signature     = object.Signature
	Entry         = object.Entry
	Edit          = object.Edit
	Change        = object.Change
	WalkOptions   = object.WalkOptions
	Note          = object.Note
	Auth          = transport.Auth
	TokenSource   = transport.TokenSource
	Remote        = transport.Remote
)

var (
	NewWriter             = object.NewWriter
	DiffTrees             = object.DiffTrees
	Walk                  = object.Walk
	ErrObjectNotFound     = object.ErrNotFound
	ErrPathNotFound       = object.ErrPathNotFound
	ErrTooLarge           = limit.ErrTooLarge
	ErrCorrupt            = store.ErrCorrupt
	NormaliseURL          = transport.NormaliseURL
	ErrUnreachable        = transport.ErrUnreachable
	ErrAuth               = transport.ErrAuth
	ErrHostKey            = transport.ErrHostKey
	ErrRepositoryNotFound = transport.ErrRepositoryNotFound
	ErrRefNotFound        = transport.ErrRefNotFound
)
