"""The definitions of a broker whose nodes share them: what a node declares is agreed on in etcd,
and made on every node by its view.

    the core's checks -> SharedDefinitions.agree -> proposals -> etcd
    etcd -> feed -> view -> DefinitionFollower -> exchanges, queues, users of the core
"""
