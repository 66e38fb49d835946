// Package browsertest holds tests of pages in a real browser: Chromium, driven over its debugging
// protocol, at the size of a phone and of a desktop, light and dark, by keyboard alone, with and
// without scripts. axe-core looks at every page for what keeps people out.
//
//	b := browsertest.Start(t)
//	tab := b.Tab(t, browsertest.Phone(browsertest.Dark))
//	tab.Open(server.URL)
//	tab.Press("Tab", "Space", "Tab", "Enter")
//	tab.Look("decision-phone-dark")
//
// A look checks what holds for every page of ours: nothing is wider than the screen, nothing was
// refused by the page's own policy, what is touched on a phone is at least 44 pixels high, and
// axe-core has no finding. It leaves a picture in a temporary folder, or in the one that
// BINDERY_SCREENSHOTS names, where it stays.
//
// Without Chromium, or without axe-core (npm ci in interop/pages), the tests are left out with a
// line that begins "not run:". Under BINDERY_TEST_ALL=1 they fetch axe-core, and being left out is a
// failure.
//
// Room: tests. Processes, network on loopback, files under temporary directories.
package browsertest
