"""Studies on a server: `connect`, and the same for coroutines.

`calls` says what can be asked, `answers` what the answers mean, `delivery` how an answer is got in spite of trouble;
none of them does input or output, which is `connection`'s. httpx is imported when the first connection is made.
"""

from photinus.client.asynchronous import AsyncServer as AsyncServer
from photinus.client.asynchronous import AsyncStudy as AsyncStudy
from photinus.client.backend import HttpBackend as HttpBackend
from photinus.client.server import Server as Server
from photinus.client.server import connect as connect
