package gitsync

import "github.com/agentry-dev/agentry/gitsync/source"

// Forget drops what is kept between passes. The next pass reads it again. It must not be called during a pass.
func (s *Syncer) Forget() {
	s.memory = memory{}
	s.sources.Forget()
}

// Size estimates how many bytes are kept between passes. It takes as long as a walk over the parsed files, and must
// not be called during a pass.
func (s *Syncer) Size() int64 {
	size := s.sources.Size()
	if s.memory.output.Rendered == nil {
		return size
	}
	for _, u := range s.memory.output.Rendered.Units {
		for _, f := range u.Files {
			size += int64(source.BytesPerFile + source.CopiesOfText*len(f.Data))
		}
	}
	return size
}
