package gitsync

// Fresh returns how many objects were parsed or rendered since the index was written.
func (s *Syncer) Fresh() int { return s.stored.fresh }

// Differing returns how many files of the first source differed from what was known of it.
func (s *Syncer) Differing() int { return s.sources.List[0].Input.Differing }
