package gitsync

import "github.com/agentry-dev/agentry/gitsync/source"

// Forget drops what is kept between passes; the next one reads it again. Not to be called
// during a pass.
func (s *Syncer) Forget() {
	s.memory = memory{}
	for _, src := range s.sources {
		src.Forget()
	}
}

// Size estimates the bytes that are kept between passes. It takes as long as a walk over
// the parsed files does, and is not to be called during a pass.
func (s *Syncer) Size() int64 {
	var size int64
	for _, src := range s.sources {
		size += src.Size()
	}
	if s.memory.rendered == nil {
		return size
	}
	for _, u := range s.memory.rendered.Units {
		for _, f := range u.Files {
			size += int64(source.BytesPerFile + source.CopiesOfText*len(f.Data))
		}
	}
	return size
}
