package yamlvalue

func decodeBlock(text []byte) (any, bool) { return nil, false }
