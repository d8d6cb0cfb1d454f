package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/live/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks a file as ours: "gdwt".
const applicationID = 0x67647774

// migration is a step from one form of the store to the next.
type migration struct {
	number int
	name   string
	sql    string
}

// migrationSteps are the migrations in their order: numbered from 1 without a gap.
func migrationSteps(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var list []migration
	for i, name := range names {
		digits, _, _ := strings.Cut(strings.TrimPrefix(name, "migrations/"), "_")
		n, err := strconv.Atoi(digits)
		if err != nil || n != i+1 {
			return nil, fmt.Errorf("migration %s should have number %d", name, i+1)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		list = append(list, migration{n, name, string(text)})
	}
	return list, nil
}

// migrateSchema brings the store to the present form, each step whole or not at all.
func migrateSchema(ctx context.Context, c *sql.Conn) error {
	list, err := migrationSteps(migrations)
	if err != nil {
		return err
	}
	var app, version, tables int
	for query, to := range map[string]*int{"PRAGMA application_id": &app, "PRAGMA user_version": &version,
		"SELECT count(*) FROM sqlite_schema": &tables} {
		if err := c.QueryRowContext(ctx, query).Scan(to); err != nil {
			return err
		}
	}
	switch {
	case app != applicationID && (app != 0 || version != 0 || tables != 0):
		return errors.New("this is a database, but not a store of Godwit")
	case version < 0:
		return damagedError("its form is %d", version)
	case version > len(list):
		return fmt.Errorf("%w: its form is %d, this one knows %d", store.ErrNewer, version, len(list))
	}
	for _, m := range list[version:] {
		script := fmt.Sprintf("BEGIN IMMEDIATE;\n%s\nPRAGMA application_id = %d;\nPRAGMA user_version = %d;\nCOMMIT;", m.sql,
			applicationID, m.number)
		if _, err := c.ExecContext(ctx, script); err != nil {
			_, _ = c.ExecContext(ctx, "ROLLBACK") // the first error says more
			return fmt.Errorf("migration %s: %w", m.name, err)
		}
	}
	return nil
}
