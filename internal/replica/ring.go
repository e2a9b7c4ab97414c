package replica

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
)

// shardCount is how many shards a fleet has. Replicas with different counts would run pipelines twice,
// so a version that changes it must give its Leases other names.
const shardCount = 64

// shardOf is the shard of a pipeline.
func shardOf(pipeline string) int {
	sum := sha256.Sum256([]byte(pipeline))
	return int(binary.BigEndian.Uint64(sum[:8]) % shardCount)
}

// weight is a member's rendezvous hash for a shard.
func weight(member string, shard int) uint64 {
	sum := sha256.Sum256([]byte(member + "\x00" + strconv.Itoa(shard)))
	return binary.BigEndian.Uint64(sum[:8])
}

// owner is the member to which a shard should belong; empty without members.
func owner(shard int, members []string) string {
	best, most := "", uint64(0)
	for _, m := range members {
		if w := weight(m, shard); best == "" || w > most || w == most && m < best {
			best, most = m, w
		}
	}
	return best
}
