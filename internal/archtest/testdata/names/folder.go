//as internal/sim/helpers

package advice // want `package helpers`
