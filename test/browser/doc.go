// Package browser shows the pages of agentry to a real Chromium, and asks what somebody would who
// is called at night: is all of it there, readable on a telephone and in the dark, without a mouse
// and without colours, and does nothing that strangers wrote do more than stand there as text?
//
// The pages are those of the real handlers; what they show has all that they can show, as long and
// as hostile as it can be. What Chromium itself finds wrong with a page (errors, violations of the
// content security policy) and what it asks other hosts for counts as wrong here too.
//
// With -screenshots FOLDER the tests leave a picture of each page for people.
package browser
