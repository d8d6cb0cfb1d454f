//as internal/basement

package basement
