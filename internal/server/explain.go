package server

import "net/http"

func (a *admin) getExplanations(w http.ResponseWriter, r *http.Request) {
	out, refused := a.explained.Explain(r.Context(), r.PathValue("name"), r.URL.Query()["object"],
		r.URL.Query().Get("selector"))
	if refused != nil {
		answer(w, refused.Status, Problem{refused.Message, refused.Hint})
		return
	}
	answer(w, http.StatusOK, out)
}

func (a *admin) getObjects(w http.ResponseWriter, r *http.Request) {
	out, refused := a.explained.Search(r.PathValue("name"), r.URL.Query().Get("q"))
	if refused != nil {
		answer(w, refused.Status, Problem{refused.Message, refused.Hint})
		return
	}
	answer(w, http.StatusOK, out)
}
