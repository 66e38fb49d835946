#!/bin/sh
# A signer plug-in over openssl: openssl.sh KEYFILE, where KEYFILE is a P-256 key in PEM.
# It shows the protocol of package signer. For a real key, put the token's own tool in place
# of openssl.
set -eu
key=$1
base64url() { base64 | tr -d '\n=' | tr '+/' '-_'; }
read -r request
case $request in
*'"op":"key"'*)
	# The last 64 bytes of an uncompressed point's DER are x and y.
	point() { openssl pkey -in "$key" -pubout -outform DER | tail -c 64; }
	printf '{"key":{"crv":"P-256","kty":"EC","x":"%s","y":"%s"},"v":1}\n' \
		"$(point | head -c 32 | base64url)" "$(point | tail -c 32 | base64url)"
	;;
*'"op":"sign"'*)
	digest=${request#*\"digest\":\"}
	digest=${digest%%\"*}
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	octal=''
	while [ -n "$digest" ]; do
		rest=${digest#??}
		octal="$octal\\0$(printf '%03o' "0x${digest%"$rest"}")"
		digest=$rest
	done
	printf '%b' "$octal" >"$work/digest"
	printf '{"signature":"%s","v":1}\n' "$(openssl pkeyutl -sign -inkey "$key" -in "$work/digest" | base64url)"
	;;
*)
	printf '{"error":"unknown request","v":1}\n'
	;;
esac
