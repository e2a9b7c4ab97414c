// Package structure holds the product to the shape that CONTRIBUTING.md describes: sizes that one
// person can hold in mind, and no hidden use of the time of day. Package imports, beside it, holds
// the order in which packages may use each other.
package structure
