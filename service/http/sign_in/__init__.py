"""Sign-in for people: an OpenID provider, or a proxy in front that knows them already."""
