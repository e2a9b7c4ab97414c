package replica

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
)

// sliceCount is how many slices a fleet has. Replicas that disagree about it run pipelines
// twice, so a version that changes it must name its Leases otherwise.
const sliceCount = 64

// sliceOf is the slice of a pipeline.
func sliceOf(pipeline string) int {
	sum := sha256.Sum256([]byte(pipeline))
	return int(binary.BigEndian.Uint64(sum[:8]) % sliceCount)
}

// weight is how much a member wants a slice.
func weight(member string, slice int) uint64 {
	sum := sha256.Sum256([]byte(member + "\x00" + strconv.Itoa(slice)))
	return binary.BigEndian.Uint64(sum[:8])
}

// owner is the member to which a slice should belong; empty without members.
func owner(slice int, members []string) string {
	best, most := "", uint64(0)
	for _, m := range members {
		if w := weight(m, slice); best == "" || w > most || w == most && m < best {
			best, most = m, w
		}
	}
	return best
}
