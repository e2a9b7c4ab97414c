package gitsync

// Fresh returns how many objects were parsed or rendered since the index was written.
func (s *Syncer) Fresh() int { return s.stored.fresh }
