package model

// HTTPClient has the settings of HTTP requests that jobs, discoveries and writers share.
type HTTPClient struct {
	FollowRedirects, EnableHTTP2 *bool
	Proxy
	HTTPAuth
	TLS *TLS
}

// Proxy has the settings of an HTTP proxy. Its headers are sent with CONNECT requests.
type Proxy struct {
	ProxyURL      Text
	NoProxy       Text
	FromEnv       *bool
	ConnectHeader map[string][]Secret
}

// HTTPAuth has the credentials of an HTTP client. The agent accepts only one kind at a time.
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

// OAuth2 has the settings of the OAuth 2.0 client credentials flow.
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
	// CA and Cert are PEM texts instead of files, which only hand-written jobs have.
	CA, Cert                     string
	CAFile, CertFile, ServerName Text
	Key                          Secret
	InsecureSkipVerify           *bool
	MinVersion, MaxVersion       string // TLS10 to TLS13
}
