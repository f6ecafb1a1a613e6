"""``mqkit bench stalls``: how long one client waits while another one asks for much.

A :mod:`~mqkit_bench.stalls.probe` publishes in a virtual host of its own, in a process of its own.
Each :class:`~mqkit_bench.stalls.action.Action` of the catalogue is played meanwhile by a
:class:`~mqkit_bench.stalls.tenant.Tenant`: a user with rights in nothing but another virtual host.
"""
