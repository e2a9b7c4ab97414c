package gitsync

// Forget drops what is kept between passes; the next one reads it again. Not to be called
// during a pass.
func (s *Syncer) Forget() {
	s.memory = memory{}
	for _, src := range s.sources {
		src.input, src.base = input{}, nil
	}
}

// Size estimates the bytes that are kept between passes.
func (s *Syncer) Size() int64 {
	var text int64
	for _, src := range s.sources {
		for _, f := range src.input.files {
			text += int64(f.bytes)
		}
	}
	return text
}
