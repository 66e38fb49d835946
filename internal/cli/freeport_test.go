package cli

import "github.com/bindery/bindery/internal/gatewaytest"

var ports = gatewaytest.Ports{From: 10000, Many: 6000}

// FreePort finds a loopback address that no other test gets.
func FreePort() (string, error) { return ports.Free() }
