//as internal/util

package util // want `package util: a package is named after what it holds`
