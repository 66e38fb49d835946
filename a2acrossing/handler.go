package a2acrossing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
)

// requestHandler is the library's request handler over a desk (design C6). The same one
// can stand under every transport.
type requestHandler struct {
	desk Desk
	card Card
}

var _ a2asrv.RequestHandler = (*requestHandler)(nil)

// SendMessage takes a phase message, or answers a plain one without committing to
// anything (GC-351).
func (h *requestHandler) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	msg := req.Message
	if msg == nil {
		return nil, a2a.ErrInvalidParams
	}
	if _, governed := msg.Metadata[crossing.URI]; !governed && !slices.Contains(msg.Extensions, crossing.URI) {
		return h.plain(msg)
	}
	if !activated(ctx) {
		return nil, h.notActivated(ctx)
	}
	m, refusal := parseMetadata(metadata(ctx))
	var t *crossing.Task
	var err error
	if refusal != nil {
		t, err = h.desk.Refuse(ctx, refusal)
	} else {
		t, err = h.desk.Exchange(ctx, string(msg.TaskID), msg.ContextID, m)
	}
	if err != nil {
		return nil, coreError(err)
	}
	return h.task(t)
}

// parseMetadata reads our object from the bytes that came in, with our own parser: the
// library has made float64 of its numbers.
func parseMetadata(raw []byte) (*crossing.Message, *crossing.Refusal) {
	if raw == nil {
		return nil, crossing.RefuseAt(crossing.RecordMalformed, "§5 message")
	}
	v, err := jcs.Parse(raw)
	if err != nil {
		refusal := bodyRefusal(raw, err)
		refusal.Path = "§5 message"
		return nil, refusal
	}
	return crossing.ParseMessage(v)
}

// notActivated records the downgrade attempt (F5) and answers as A2A 1.0 asks (AG-66),
// with the specification's name in data.
func (h *requestHandler) notActivated(ctx context.Context) error {
	if _, err := h.desk.Refuse(ctx, crossing.Refuse(crossing.ExtNotActivated)); err != nil {
		return coreError(err)
	}
	row, _ := crossing.RowOf(crossing.ExtNotActivated)
	return a2a.NewError(a2a.ErrExtensionSupportRequired, row.Message).
		WithDetails(map[string]any{"error": string(row.Name), "code": row.Code})
}

func coreError(err error) error {
	if errors.Is(err, crossing.ErrNoTask) {
		return a2a.ErrTaskNotFound
	}
	return a2a.NewError(a2a.ErrInternalError, "nothing was decided; send the message again")
}

func (h *requestHandler) plain(msg *a2a.Message) (a2a.SendMessageResult, error) {
	if msg.TaskID != "" {
		return nil, a2a.ErrTaskNotFound
	}
	about := "This agent resolves Crossing Seals and commits to nothing."
	if h.card.Full {
		about = "This agent agrees to terms that an open mandate covers, by a Governed Crossing and in no other way. " +
			"Activate " + crossing.URI + " to begin one. This answer commits to nothing."
	}
	return &a2a.Message{ID: a2a.NewMessageID(), Role: a2a.MessageRoleAgent, ContextID: msg.ContextID, Parts: a2a.ContentParts{a2a.NewTextPart(about)}}, nil
}

// task is the A2A form of a crossing.
func (h *requestHandler) task(t *crossing.Task) (*a2a.Task, error) {
	at := t.UpdatedAt
	out := &a2a.Task{
		ID: a2a.TaskID(t.ID), ContextID: t.ContextID,
		Status:   a2a.TaskStatus{State: a2a.TaskState(t.State.TaskState()), Timestamp: &at},
		Metadata: map[string]any{crossing.URI: map[string]any{"crossing_state": string(t.State)}},
	}
	if t.Answer != nil {
		meta, err := object(t.Answer)
		if err != nil {
			return nil, err
		}
		out.Status.Message = &a2a.Message{
			ID: t.ID + "-" + string(t.State), Role: a2a.MessageRoleAgent, TaskID: out.ID, ContextID: t.ContextID,
			Extensions: []string{crossing.URI}, Metadata: map[string]any{crossing.URI: meta},
			Parts: a2a.ContentParts{a2a.NewTextPart(string(t.State))},
		}
	}
	if t.Block != nil {
		block, err := object(t.Block)
		if err != nil {
			return nil, err
		}
		out.Metadata[crossing.URI] = block
		out.Artifacts = []*a2a.Artifact{{
			ID: a2a.ArtifactID(t.ArtifactID), Name: "Crossing Seal", Extensions: []string{crossing.URI},
			Metadata: map[string]any{crossing.URI: block},
			Parts:    a2a.ContentParts{a2a.NewTextPart("Sealed. Resolve the seal before relying on it.")},
		}}
	}
	return out, nil
}

// object makes the library's form of one of our objects; numbers keep their digits.
func object(b []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var m map[string]any
	return m, d.Decode(&m)
}

// GetTask shows a task to whoever names its id (design C2).
func (h *requestHandler) GetTask(ctx context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	t, err := h.desk.Task(ctx, string(req.ID))
	if err != nil {
		return nil, coreError(err)
	}
	return h.task(t)
}

// ListTasks is for authenticated callers, and there are none.
func (h *requestHandler) ListTasks(context.Context, *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	return nil, a2a.ErrUnauthenticated
}

// CancelTask cancels nothing: a party that wants to stop revokes its mandate.
func (h *requestHandler) CancelTask(ctx context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	if _, err := h.desk.Task(ctx, string(req.ID)); err != nil {
		return nil, coreError(err)
	}
	return nil, a2a.ErrTaskNotCancelable
}

// SubscribeToTask is not offered.
func (h *requestHandler) SubscribeToTask(context.Context, *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return unsupported
}

// SendStreamingMessage is not offered.
func (h *requestHandler) SendStreamingMessage(context.Context, *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return unsupported
}

func unsupported(yield func(a2a.Event, error) bool) { yield(nil, a2a.ErrUnsupportedOperation) }

// GetTaskPushConfig is not offered, nor are its siblings.
func (h *requestHandler) GetTaskPushConfig(context.Context, *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	return nil, a2a.ErrPushNotificationNotSupported
}

// ListTaskPushConfigs is not offered.
func (h *requestHandler) ListTaskPushConfigs(context.Context, *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse, error) {
	return nil, a2a.ErrPushNotificationNotSupported
}

// CreateTaskPushConfig is not offered.
func (h *requestHandler) CreateTaskPushConfig(context.Context, *a2a.PushConfig) (*a2a.PushConfig, error) {
	return nil, a2a.ErrPushNotificationNotSupported
}

// DeleteTaskPushConfig is not offered.
func (h *requestHandler) DeleteTaskPushConfig(context.Context, *a2a.DeleteTaskPushConfigRequest) error {
	return a2a.ErrPushNotificationNotSupported
}

// GetExtendedAgentCard is not offered: the public card says all.
func (h *requestHandler) GetExtendedAgentCard(context.Context, *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	return nil, a2a.ErrExtendedCardNotConfigured
}
