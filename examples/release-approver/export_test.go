package main

// Main lets the test's own program be the server.
var Main = main
