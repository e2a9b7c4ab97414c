package source

import (
	"maps"
	"path"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// trees has the trees of a source and of the sources mounted in it, at one moment.
type trees struct {
	own    plumbing.Hash
	others map[string]plumbing.Hash // by mount folder; zero if unknown
}

func (t trees) same(other trees) bool {
	return t.own == other.own && maps.Equal(t.others, other.others)
}

// trees returns the trees of commits, which are in the order of all sources. The tree of a nil commit is zero.
func (s *Source) trees(all []*Source, commits []*object.Commit) trees {
	at := func(of *Source) plumbing.Hash {
		if c := commits[slices.Index(all, of)]; c != nil {
			return c.Tree
		}
		return plumbing.ZeroHash
	}
	out := trees{own: at(s)}
	for mount, of := range s.Mounts {
		if out.others == nil {
			out.others = map[string]plumbing.Hash{}
		}
		out.others[mount] = at(of)
	}
	return out
}

// open opens the files of trees.
func (s *Source) open(at trees) kustomize.Open {
	return func() (tree.Files, func(), error) {
		rd := s.Repo.Reader()
		readers, others := []*object.Reader{rd}, map[string]tree.Files{}
		for mount, of := range s.Mounts {
			rd := of.Repo.Reader()
			readers = append(readers, rd)
			others[mount] = rd.Files(at.others[mount])
		}
		return tree.Mount(rd.Files(at.own), others), func() {
			for _, rd := range readers {
				rd.Close()
			}
		}, nil
	}
}

// differing returns the files that differ between trees, in the whole repository and the mounted ones. It returns nil
// if one of the trees is zero.
func (s *Source) differing(from, to trees) (*tree.Changes, error) {
	var out []tree.Change
	if from.own.IsZero() || to.own.IsZero() {
		return nil, nil
	}
	diff := func(of *Source, prefix string, from, to plumbing.Hash) error {
		rd := of.Repo.Reader()
		defer rd.Close()
		return object.DiffTrees(rd, from, to, object.WalkOptions{}, func(c object.Change) error {
			out = append(out, tree.Change{Path: prefix + c.Path,
				Edited: c.Old.Mode == c.New.Mode && c.Old.Mode.IsFile() && c.Old.Mode != filemode.Symlink})
			return nil
		})
	}
	if err := diff(s, "", from.own, to.own); err != nil {
		return nil, err
	}
	for mount, of := range s.Mounts {
		if err := diff(of, mount+"/", from.others[mount], to.others[mount]); err != nil {
			return nil, err
		}
	}
	return tree.NewChanges(out...), nil
}

// options returns the options for parsing the source's manifests, with the tenants of the source and of the sources
// mounted in it.
func (s *Source) options(opts manifest.Options) manifest.Options {
	opts.Tenants.All = s.Tenant
	isSet, mounted := opts.Tenants.IsSet(), map[string]string{}
	for folder, of := range s.Mounts {
		isSet = isSet || of.Tenant != ""
		mounted[folder] = of.Tenant
	}
	if isSet {
		opts.Tenants.Mounted = mounted
	}
	return opts
}

// MountFolder returns the folder in which a source is mounted in others, by its name. Without a name it is in none.
func MountFolder(name string) string {
	if name == "" {
		return ""
	}
	return "@" + name
}

// Mount mounts sources in the sources whose custom resources can build from them, according to the pipeline's
// sourceRefs.
func (s *Sources) Mount(spec *pipeline.Spec) {
	for i, src := range s.List {
		mounts := spec.Mounts(i)
		src.Mounts, src.References, src.Given = map[string]*Source{}, map[string]string{}, nil
		for name, n := range mounts {
			src.Mounts[MountFolder(name)] = s.List[n]
		}
		for _, name := range slices.Sorted(maps.Keys(mounts)) {
			for _, p := range s.List[mounts[name]].Paths {
				if spec.Build.SharesPaths {
					src.Given = append(src.Given, path.Join(MountFolder(name), p))
				}
			}
			if spec.Build.SharesPaths {
				src.References[s.List[mounts[name]].URL] = MountFolder(name)
			}
		}
		for ref, name := range spec.SourceRefs {
			if _, found := mounts[name]; found {
				src.References[ref] = MountFolder(name)
			} else if name == src.Name {
				src.References[ref] = "."
			}
		}
	}
}
