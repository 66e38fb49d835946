package jose

// RawLowS is the conversion that every signature passes through.
var RawLowS = rawLowS
