package model

// HTTPClient is how an agent sends requests: the settings that jobs, discoveries and writers share.
type HTTPClient struct {
	FollowRedirects, EnableHTTP2 *bool
	Proxy
	HTTPAuth
	TLS *TLS
}

// Proxy is the way to a server. Its headers are for CONNECT requests.
type Proxy struct {
	ProxyURL      Text
	NoProxy       Text
	FromEnv       *bool
	ConnectHeader map[string][]Secret
}

// HTTPAuth is the credentials of a client. The agent accepts only one kind.
type HTTPAuth struct {
	BasicAuth     *BasicAuth
	Authorization *Authorization
	OAuth2        *OAuth2
	BearerToken   Secret
}

// BasicAuth is HTTP basic authentication.
type BasicAuth struct {
	Username, Password Secret
}

// Authorization is the Authorization header. The agent's default type is Bearer.
type Authorization struct {
	Type        Text
	Credentials Secret
}

// OAuth2 is the client credentials flow.
type OAuth2 struct {
	ClientID       Secret
	ClientSecret   Secret
	TokenURL       Text
	Scopes         []Text
	EndpointParams map[string]Text
	Proxy
	TLS *TLS
}

// TLS is tls_config. Empty fields are left out.
type TLS struct {
	// CA and Cert are PEM in the place of files, as hand-written jobs can have them.
	CA, Cert                     string
	CAFile, CertFile, ServerName Text
	Key                          Secret
	InsecureSkipVerify           *bool
	MinVersion, MaxVersion       string // TLS10 to TLS13
}
