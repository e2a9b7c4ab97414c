package gitsync

// What is kept between passes in bytes, as measured with ServiceMonitors, ConfigMaps and
// kinds that are ignored: a file, an object, and each byte of text and of what is rendered,
// which is there as values too.
const (
	bytesPerFile   = 600
	bytesPerObject = 2 << 10
	copiesOfText   = 2
)

// Forget drops what is kept between passes; the next one reads it again. Not to be called
// during a pass.
func (s *Syncer) Forget() {
	s.memory = memory{}
	for _, src := range s.sources {
		src.input, src.base = input{}, nil
	}
}

// Size estimates the bytes that are kept between passes. It takes as long as a walk over
// the parsed files does, and is not to be called during a pass.
func (s *Syncer) Size() int64 {
	var size int64
	for _, src := range s.sources {
		for _, f := range src.input.files {
			size += f.size()
		}
		if src.base != nil {
			for _, f := range src.base.files {
				size += f.size()
			}
		}
	}
	if s.memory.rendered == nil {
		return size
	}
	for _, u := range s.memory.rendered.Units {
		for _, f := range u.Files {
			size += int64(bytesPerFile + copiesOfText*len(f.Data))
		}
	}
	return size
}

func (f *inputFile) size() int64 {
	return int64(bytesPerFile + bytesPerObject*len(f.result.Objects) + copiesOfText*f.bytes)
}
