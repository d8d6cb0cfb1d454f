package replica

import (
	"encoding/json"
	"sync"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// UserTables has a table for each user who is not the broker's own: nobody learns from it
// what others have.
type UserTables struct {
	mu     sync.Mutex
	tables map[uint32]*Table
}

// TableOf is the table of a user.
func (u *UserTables) TableOf(user uint32) *Table {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.tables == nil {
		u.tables = map[uint32]*Table{}
	}
	if u.tables[user] == nil {
		u.tables[user] = new(Table)
	}
	return u.tables[user]
}

// LoadJSON reads the tables; what cannot be read is empty.
func (u *UserTables) LoadJSON(text string) {
	texts := map[uint32]string{}
	if text == "" || json.Unmarshal([]byte(text), &texts) != nil {
		return
	}
	for user, text := range texts { // order-free: into a map
		u.TableOf(user).LoadJSON(text)
	}
}

// EncodeJSON is the tables as LoadJSON reads them.
func (u *UserTables) EncodeJSON() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	texts := map[uint32]string{}
	for user, r := range u.tables { // order-free: into a map
		texts[user] = r.EncodeJSON()
	}
	text, _ := json.Marshal(texts) // nothing but texts and numbers
	return string(text)
}

// KeepRecent forgets what nobody has asked for in a long time, and lists what is to stay in
// depots.
func (u *UserTables) KeepRecent(now core.Time) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var trees []string
	for _, r := range u.tables { // order-free: a set
		trees = append(trees, r.KeepRecent(now)...)
	}
	return trees
}
