"""Signed requests: the profile of RFC 9421 and RFC 9530 that the contract's section 4 fixes.

Pure: the caller brings the request, the time, the keys and the store of nonces. Fields are parsed by
`http_sf`, signatures checked by `http_message_signatures`, which leaves the profile to us: it asks
for no component or parameter, knows no window, keeps no nonce, and reads the wall clock.
"""
