// Package render shows an envelope to the one person who is asked: sections 8 and 9 of the
// briefing-and-binding memo, and its rules about what is done with a malformed one.
//
// There is one [View] of an envelope, and every surface is printed from it, so that all of them say
// the same words in the same order and none can leave a slot out:
//
//	View.Text          a labelled multiple-choice block, for a chat, a hook or a mail
//	View.Picker        the same block with a cursor, for a terminal
//	View.Page          an HTML page with one form for each of the three resolutions; on a narrow
//	                   screen the same markup is a sheet of chips
//	View.Notification  a title and a few lines, which lead to the whole
//
// Each has a way back: [View.Reply], [Picker.Press] and [View.Submit] read what the person did, and
// all three end in [View.Resolve]. The same intent gives the same bytes on every surface (ENV-097).
//
//	v, err := render.New(e, render.Reader{Agent: "release-approver"})
//	fmt.Print(v.Text(40))
//	r, err := v.Reply("B")       // or v.Submit(form), or v.Resolve(way, "")
//
// A text of 40 columns, where B is recommended and both hatches are open, ends so:
//
//	QUESTION
//	  Which view is released to the clinic?
//
//	   A) Release the daily view
//	      Smallest set that answers the
//	      request.
//	      Reply: A
//
//	=> B) Release the weekly view
//	      Recommended by the agent.
//	      Nobody can be told apart in it.
//	      Reply: B
//
//	   W) Answer in your own words
//	      …
//	   R) Decline the question
//	      …
//
// # What is in an envelope is text from outside
//
// [Show] is the only place where such text is made fit for eyes, and the only type that a renderer
// prints, [Shown], comes out of it. What does not show by itself is written as a mark: a right-to-left
// override as ⟨U+202E⟩, nine hundred zero-width spaces as ⟨U+200B×900⟩. That holds for controls,
// escape sequences, format characters, separators, spaces that only look like one, fillers, unassigned
// and private characters, and combining marks and joiners in heaps. Nothing is dropped, cut or mended
// (ENV-002): what was there can be read back from what is shown. Look-alike letters are not looked at.
// In HTML the five characters of markup are escaped besides. Direction is isolated: each text stands in an
// element of its own with dir=auto, and in plain text right-to-left writing stands between U+2068
// and U+2069. Text cannot reach the first two columns of a block, where the headings and the
// arrow at the recommended option stand. The block is plain text: where Markdown is read, put it in a fence.
//
// # What it refuses
//
// A View can only be made of an Envelope, and that only [envelope.Parse] and [envelope.Draft.Build]
// make, so a malformed one is never rendered as a decision (ENV-011, ENV-101). [FallBack] shows the
// tool's ordinary content instead, with one line that says why (section 9.3).
//
// No option is chosen beforehand, on any surface. The decision class picks one of four styles of the
// page and nothing else (ENV-047); it is not shown. The page works without a script, asks for nothing
// but its style sheet, and holds no style of its own, so that it fits a policy of default-src 'none'.
//
// Room: values. No I/O and no clock; what it returns is text.
package render
