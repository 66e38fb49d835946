package signer_test

import (
	"bufio"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/jose"
)

// TestMain makes the test binary a plug-in too: "BINARY plugin MODE KEYFILE".
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "plugin" {
		syscall.Exit(plugin(os.Args[2], os.Args[3])) // os.Exit would sleep for a second under -race
	}
	os.Exit(m.Run())
}

// plugin answers one request as the mode says. It reads and writes with encoding/json, to
// know nothing of the code under test.
func plugin(mode, path string) int {
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return 3
	}
	var request struct {
		V               int
		Op, Digest, Kid string
	}
	if json.Unmarshal([]byte(line), &request) != nil || request.V != 1 {
		return 3
	}
	key := readKey(path)
	answer := ""
	switch request.Op {
	case "key":
		public, _ := jose.NewKey(&key.PublicKey)
		answer = fmt.Sprintf(`{"key":%s,"v":1}`, public.JWK())
	case "sign":
		answer = fmt.Sprintf(`{"signature":%q,"v":1}`, sign(mode, key, request.Digest))
	}
	switch mode {
	case "silent":
		return 0
	case "fails":
		fmt.Println(answer)
		return 1
	case "late":
		time.Sleep(time.Minute)
	case "leaves a child": // that keeps the pipe, and for as long as it lives makes a file
		cmd := exec.Command("sh", "-c", `while sleep 0.02; do : >"$0"; done`, path+".alive")
		cmd.Stdout = os.Stdout
		_ = cmd.Start()
		time.Sleep(time.Minute)
	case "endless":
		for {
			if _, err := fmt.Println(answer); err != nil {
				return 0
			}
		}
	case "two lines":
		answer += "\n" + answer
	case "spaced":
		answer = strings.Replace(answer, ":", ": ", 1)
	case "more members":
		answer = strings.Replace(answer, `,"v"`, `,"t":0,"v"`, 1)
	case "another version":
		answer = strings.Replace(answer, `"v":1`, `"v":2`, 1)
	case "not JSON":
		answer = "MEUC"
	case "cut":
		fmt.Print(answer)
		return 0
	case "environment":
		answer = fmt.Sprintf(`{"error":%q,"v":1}`, strings.Join(os.Environ(), " "))
	case "says why":
		answer = `{"error":"the token is locked","v":1}`
	case "escape codes":
		answer = `{"error":"\u001b[2J","v":1}`
	case "chatters":
		fmt.Fprintln(os.Stderr, strings.Repeat("words ", 1<<16))
	}
	fmt.Println(answer)
	return 0
}

func sign(mode string, key *ecdsa.PrivateKey, digest string) string {
	b, _ := hex.DecodeString(digest)
	random := io.Reader(rand.Reader)
	switch mode {
	case "another digest":
		b[0] ^= 1
	case "another key":
		key, _ = jose.GenerateKey()
	case "deterministic":
		random = nil
	}
	der, err := key.Sign(random, b, crypto.SHA256)
	if err != nil {
		return err.Error()
	}
	if mode == "trailing byte" {
		der = append(der, 0)
	}
	return jose.EncodeBase64(der)
}

func readKey(path string) *ecdsa.PrivateKey {
	b, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	key, err := jose.ParsePrivateKeyPEM(b)
	if err != nil {
		panic(err)
	}
	return key
}
